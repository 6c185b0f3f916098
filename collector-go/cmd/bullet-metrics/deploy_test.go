package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
)

const packaging = "../../packaging/"

// object has the parts of Kubernetes' objects that are checked.
type object struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string
	Spec     struct {
		Ports    []struct{ Port int }
		Template struct {
			Spec struct {
				EnableServiceLinks *bool
				Containers         []struct {
					Image                        string
					Args                         []string
					Ports                        []struct{ ContainerPort int }
					ReadinessProbe, StartupProbe probe
					LivenessProbe                probe
				}
			}
		}
	}
}

type probe struct{ HTTPGet struct{ Path, Port string } }

// What the manifests say about the collector is true of it: the ports, the paths of the probes, the settings.
func TestTheKubernetesManifestsFitTheCollector(t *testing.T) {
	text, err := os.ReadFile(packaging + "kubernetes.yaml")
	require.NoError(t, err)
	all := map[string]object{}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var o object
		asJSON, err := yaml.YAMLToJSON([]byte(document)) // whose keys may differ in case from the fields
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(asJSON, &o))
		all[o.Kind] = o
	}
	service, pod := all["Service"], all["StatefulSet"].Spec.Template.Spec
	require.Len(t, pod.Containers, 1)
	container := pod.Containers[0]
	assert.False(t, *pod.EnableServiceLinks, "its variables would set flags")

	file := filepath.Join(t.TempDir(), "bullet-metrics.yaml")
	require.NoError(t, os.WriteFile(file, []byte(all["ConfigMap"].Data["bullet-metrics.yaml"]), 0o644))
	assert.Equal(t, []string{"serve", "--config=/etc/bullet-metrics/bullet-metrics.yaml"}, container.Args)
	printed, _ := program("serve", "--config", file, "--data-dir", t.TempDir(), "--check") // its ports may be in use
	assert.NotContains(t, printed, "WRONG")
	assert.Contains(t, printed, "settings")
	c := config.Default()
	_, err = config.LoadFile(file, config.Settings(&c), func(config.Setting) bool { return false })
	require.NoError(t, err)
	host := service.Metadata.Name + "." + service.Metadata.Namespace + ".svc"
	assert.Equal(t, host+":4320", c.Public("[::]:4320")["grpc.listen"])
	assert.Contains(t, c.HTTP.Hosts(), host)

	byDefault := config.Default()
	for i, of := range [][2]string{{c.GRPC.Listen, byDefault.GRPC.Listen}, {c.HTTP.Listen, byDefault.HTTP.Listen}} {
		_, port := address.HostPort(of[0]).Split()
		_, want := address.HostPort(of[1]).Split()
		assert.Equal(t, want, port)
		assert.Equal(t, want, fmt.Sprint(service.Spec.Ports[i].Port))
		assert.Equal(t, want, fmt.Sprint(container.Ports[i].ContainerPort))
	}
	collector := startCollector(t, settings(t.TempDir()))
	for _, p := range []probe{container.StartupProbe, container.ReadinessProbe, container.LivenessProbe} {
		assert.Equal(t, "http", p.HTTPGet.Port)
		response, err := http.Get("http://" + collector.col.httpListener.Addr().String() + p.HTTPGet.Path)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.NotEqual(t, http.StatusNotFound, response.StatusCode, p.HTTPGet.Path)
	}
}

// The page of the collector that compose starts names the address that compose publishes.
func TestComposePublishesWhatThePageNames(t *testing.T) {
	text, err := os.ReadFile(packaging + "compose.yaml")
	require.NoError(t, err)
	var example struct {
		Services map[string]struct {
			Image          string
			Command, Ports []string
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &example))
	collector := example.Services["collector"]
	c := config.Default()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(flags, &c)
	require.NoError(t, flags.Parse(collector.Command[1:]))
	require.NoError(t, c.Validate())
	assert.Contains(t, collector.Ports, c.Public("[::]:4320")["grpc.listen"]+":4320")
}
