package nimbus

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answer is the answer of a Nimbus to getClusterInfo in Thrift's binary protocol. It has a supervisor with a map, an
// obsolete field, and two topologies.
const answer = "80010002" + "0000000e" + "676574436c7573746572496e666f" + "00000001" + // reply, getClusterInfo, 1
	"0c0000" + // success
	// supervisors: host h, {cpu: 100}
	"0f0001" + "0c" + "00000001" + "0b0001" + "00000001" + "68" + "0d0007" + "0b" + "04" + "00000001" + "00000003" +
	"637075" + "4059000000000000" + "00" +
	"080002" + "0000002a" + // an obsolete number
	"0f0003" + "0c" + "00000002" + // topologies
	// b-1, b, 7 tasks, ACTIVE, a bool
	"0b0001" + "00000003" + "622d31" + "0b0002" + "00000001" + "62" + "080003" + "00000007" + "0b0007" + "00000006" +
	"414354495645" + "020201" + "01" + "00" +
	// c-2, c, for 90 s, KILLED
	"0b0001" + "00000003" + "632d32" + "0b0002" + "00000001" + "63" + "080006" + "0000005a" + "0b0007" + "00000006" +
	"4b494c4c4544" + "00" +
	"00" + "00"

func TestTheTopologiesOfACluster(t *testing.T) {
	frame, err := hex.DecodeString(answer)
	require.NoError(t, err)
	want := []Topology{{"b-1", "b", "ACTIVE", 0}, {"c-2", "c", "KILLED", 90 * time.Second}}
	found, err := clusterInfo(frame)
	require.NoError(t, err)
	assert.Equal(t, want, found)
	assert.Equal(t, []bool{false, true}, []bool{found[0].Killed(), found[1].Killed()})
	for cut := range frame {
		_, err := clusterInfo(frame[:cut])
		assert.Error(t, err, "cut to %d bytes", cut)
	}

	// The first Nimbus that answers is used.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	asked := make(chan []byte, 1)
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		question := make([]byte, len(call("getClusterInfo")))
		_, _ = io.ReadFull(connection, question)
		asked <- question
		_, _ = connection.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	}()
	found, err = Topologies(t.Context(), []string{"127.0.0.1:1", listener.Addr().String()})
	require.NoError(t, err)
	assert.Equal(t, want, found)
	assert.Equal(t, "0000001b"+"80010001"+"0000000e"+"676574436c7573746572496e666f"+"00000001"+"00",
		hex.EncodeToString(<-asked))
	_, err = Topologies(t.Context(), []string{"127.0.0.1:1"})
	assert.ErrorContains(t, err, "query Nimbus at 127.0.0.1:1")
}

// An error of a component is found in a TopologyInfo with other fields, and a configuration is decoded. An answer that
// is cut off anywhere is an error.
func TestATopologysConfAndErrors(t *testing.T) {
	reply := func(method string, fields ...string) []byte {
		text := "80010002" + hexText(method) + "00000001" + strings.Join(fields, "") + "00"
		frame, err := hex.DecodeString(text)
		require.NoError(t, err)
		return frame
	}
	trace := "java.lang.RuntimeException: Could not instantiate\n\tat x\nCaused by: java.lang.ClassNotFoundException: a.B\n\tat y"
	info := reply("getTopologyInfo", "0c0000", "0b0001"+hexText("b-1"), "0d0006"+"0b0f"+"00000001"+hexText("__metrics")+
		"0c"+"00000002",
		"0b0001"+hexText("old")+"080002"+"00000001"+"00", "0b0001"+hexText(trace)+"080002"+"00000002"+"0b0003"+
			hexText("host")+"00", "00")
	errors, err := topologyErrors(info)
	require.NoError(t, err)
	require.Len(t, errors, 2)
	assert.Equal(t, ComponentError{"__metrics", trace, time.Unix(2, 0)}, errors[0])
	assert.Equal(t, "Caused by: java.lang.ClassNotFoundException: a.B", errors[0].Cause())
	assert.Empty(t, errors[1].Cause())
	conf := reply("getTopologyConf", "0b0000"+hexText(`{"topology.workers": 2}`))
	read, err := topologyConf(conf)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"topology.workers": 2.0}, read)
	for cut := range info {
		_, err := topologyErrors(info[:cut])
		assert.Error(t, err, "cut to %d bytes", cut)
	}
	_, err = topologyConf(reply("getTopologyConf", "0c0001"+"00"))
	assert.ErrorContains(t, err, "refused")
	assert.Equal(t, hexText("\x80\x01\x00\x01"+"\x00\x00\x00\x01m"+"\x00\x00\x00\x01"+"\x0b\x00\x01\x00\x00\x00\x03b-1"+
		"\x00"), hex.EncodeToString(call("m", "b-1")))
}

func hexText(text string) string { return fmt.Sprintf("%08x%x", len(text), text) }

func FuzzClusterInfo(f *testing.F) {
	frame, err := hex.DecodeString(answer)
	require.NoError(f, err)
	f.Add(frame)
	f.Fuzz(func(_ *testing.T, frame []byte) {
		_, _ = clusterInfo(frame)
		_, _ = topologyConf(frame)
		_, _ = topologyErrors(frame)
	})
}
