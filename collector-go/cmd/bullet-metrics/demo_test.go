package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSecondsOfTheEnvironment(t *testing.T) {
	t.Setenv(secondsVariable, "90")
	o := demoOptions{seconds: 180}
	require.NoError(t, o.setSeconds(false))
	assert.Equal(t, 90, o.seconds)
	t.Setenv(secondsVariable, "soon")
	assert.ErrorContains(t, o.setSeconds(false), `DEMO_SECONDS="soon" is not a whole number of seconds`)
	assert.NoError(t, o.setSeconds(true), "the flag is given")
}
