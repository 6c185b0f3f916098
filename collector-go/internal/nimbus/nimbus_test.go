package nimbus

import (
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answer is a Nimbus' to getClusterInfo, as Thrift's binary protocol has it: a supervisor with a map, an old field, two topologies.
const answer = "80010002" + "0000000e" + "676574436c7573746572496e666f" + "00000001" + // reply, getClusterInfo, 1
	"0c0000" + // success
	"0f0001" + "0c" + "00000001" + "0b0001" + "00000001" + "68" + "0d0007" + "0b" + "04" + "00000001" + "00000003" + "637075" + "4059000000000000" + "00" + // supervisors: host h, {cpu: 100}
	"080002" + "0000002a" + // a number that is not used any more
	"0f0003" + "0c" + "00000002" + // topologies
	"0b0001" + "00000003" + "622d31" + "0b0002" + "00000001" + "62" + "080003" + "00000007" + "0b0007" + "00000006" + "414354495645" + "020201" + "01" + "00" + // b-1, b, 7 tasks, ACTIVE, a bool
	"0b0001" + "00000003" + "632d32" + "0b0002" + "00000001" + "63" + "0b0007" + "00000006" + "4b494c4c4544" + "00" + // c-2, c, KILLED
	"00" + "00"

func TestTheTopologiesOfACluster(t *testing.T) {
	frame, err := hex.DecodeString(answer)
	require.NoError(t, err)
	want := []Topology{{"b-1", "b", "ACTIVE"}, {"c-2", "c", "KILLED"}}
	found, err := clusterInfo(frame)
	require.NoError(t, err)
	assert.Equal(t, want, found)
	assert.Equal(t, []bool{false, true}, []bool{found[0].Killed(), found[1].Killed()})
	for cut := range frame {
		_, err := clusterInfo(frame[:cut])
		assert.Error(t, err, "cut to %d bytes", cut)
	}

	// The first that answers counts.
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
	assert.Equal(t, "0000001b"+"80010001"+"0000000e"+"676574436c7573746572496e666f"+"00000001"+"00", hex.EncodeToString(<-asked))
	_, err = Topologies(t.Context(), []string{"127.0.0.1:1"})
	assert.ErrorContains(t, err, "ask Nimbus at 127.0.0.1:1")
}

func FuzzClusterInfo(f *testing.F) {
	frame, err := hex.DecodeString(answer)
	require.NoError(f, err)
	f.Add(frame)
	f.Fuzz(func(_ *testing.T, frame []byte) { _, _ = clusterInfo(frame) })
}
