package runner

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func TestALocalLaunchKnowsWhatDRPCHolds(t *testing.T) {
	want := measure.Environment{Endpoint: tuning.EndpointDRPC, EndpointCapacity: 38}
	assert.Equal(t, want, NewLocal(stack.Options{DRPCThreads: 40}, 1, nil, nil, nil).around())
}

func TestALocalLaunchKnowsItsPartitions(t *testing.T) {
	without := measure.Environment{Endpoint: tuning.EndpointGateway, EndpointCapacity: gatewayQueries}
	assert.Equal(t, without, NewLocal(stack.Options{}, 1, nil, nil, nil).around())
	with := without
	with.Partitions = 2
	assert.Equal(t, with, NewLocal(stack.Options{Kafka: &stack.Kafka{Partitions: 2}}, 1, nil, nil, nil).around())
}
