package nimbus

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Constants of Thrift's framed binary protocol (thrift.apache.org, thrift-binary-protocol.md): types and message
// kinds.
const (
	typeStop, typeBool, typeByte, typeDouble, typeI16, typeI32, typeI64, typeString, typeStruct, typeMap, typeSet,
	typeList = 0, 2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15

	strict                     = 0x8001_0000
	kindCall, kindReply uint32 = 1, 2
)

// call returns the frame of a method call. The arguments are strings, with the field ids 1, 2, ...
func call(method string, arguments ...string) []byte {
	message := binary.BigEndian.AppendUint32(nil, strict|kindCall)
	message = appendText(message, method)
	message = binary.BigEndian.AppendUint32(message, 1) // sequence
	for i, argument := range arguments {
		message = binary.BigEndian.AppendUint16(append(message, typeString), uint16(i+1))
		message = appendText(message, argument)
	}
	message = append(message, typeStop)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

func appendText(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(to, uint32(len(text))), text...)
}

// decoder reads a frame. After the first error it returns zeros.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) bytes(n int) []byte {
	if d.err != nil || n < 0 || n > len(d.rest) {
		if d.err == nil {
			d.err = errors.New("truncated answer")
		}
		return make([]byte, min(max(n, 0), 8))
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) u8() byte    { return d.bytes(1)[0] }
func (d *decoder) u32() uint32 { return binary.BigEndian.Uint32(d.bytes(4)) }

func (d *decoder) text() string {
	n := int(d.u32())
	if d.err != nil || n > len(d.rest) {
		d.bytes(n)
		return ""
	}
	return string(d.bytes(n))
}

// fields calls take for each field of a struct. take must read or skip the field.
func (d *decoder) fields(take func(kind byte, id uint16)) {
	for d.err == nil {
		kind := d.u8()
		if kind == typeStop {
			return
		}
		take(kind, binary.BigEndian.Uint16(d.bytes(2)))
	}
}

// field calls take for the field of a struct with the wanted id and type, and skips all others.
func (d *decoder) field(wanted uint16, of byte, take func()) {
	d.fields(func(kind byte, id uint16) {
		if id == wanted && kind == of {
			take()
		} else {
			d.skip(kind, 0)
		}
	})
}

// structs calls take for each struct in a list, and skips elements of other types.
func (d *decoder) structs(take func()) {
	element := d.u8()
	for n := d.u32(); n > 0 && d.err == nil; n-- {
		if element == typeStruct {
			take()
		} else {
			d.skip(element, 0)
		}
	}
}

// maxDepth is the maximum nesting depth. Storm nests less deep.
const maxDepth = 32

func (d *decoder) skip(kind byte, depth int) {
	switch kind {
	case typeBool, typeByte:
		d.bytes(1)
	case typeI16:
		d.bytes(2)
	case typeI32:
		d.bytes(4)
	case typeI64, typeDouble:
		d.bytes(8)
	case typeString:
		d.text()
	case typeStruct, typeMap, typeSet, typeList:
		if depth == maxDepth {
			d.err = errors.New("the answer is nested too deeply")
			return
		}
		d.skipMany(kind, depth+1)
	default:
		d.err = fmt.Errorf("unknown Thrift type %d", kind)
	}
}

func (d *decoder) skipMany(kind byte, depth int) {
	if kind == typeStruct {
		d.fields(func(kind byte, _ uint16) { d.skip(kind, depth) })
		return
	}
	element := d.u8()
	value := byte(typeStop)
	if kind == typeMap {
		value = d.u8()
	}
	for n := d.u32(); n > 0 && d.err == nil; n-- {
		d.skip(element, depth)
		if kind == typeMap {
			d.skip(value, depth)
		}
	}
}

// result decodes the answer to a method call. take reads the result, which must have the type of. Any other answer is
// an exception of the method.
func result(frame []byte, of byte, method string, take func(d *decoder)) error {
	d := &decoder{rest: frame}
	if kind := d.u32(); d.err == nil && kind != strict|kindReply {
		return fmt.Errorf("unexpected message %#[2]x instead of an answer to %[1]s", method, kind)
	}
	d.text()
	d.u32()
	answered := false
	d.field(0, of, func() { // any other field is an exception
		answered = true
		take(d)
	})
	switch {
	case d.err != nil:
		return d.err
	case !answered:
		return fmt.Errorf("%s was refused by Nimbus", method)
	}
	return nil
}

// clusterInfo decodes the answer of getClusterInfo: ClusterSummary.topologies (3), and of each TopologySummary id (1),
// name (2), uptime_secs (6) and status (7). These numbers have not changed since Storm 0.9.
func clusterInfo(frame []byte) (found []Topology, err error) {
	err = result(frame, typeStruct, "getClusterInfo", func(d *decoder) {
		d.field(3, typeList, func() { found = d.topologies() })
	})
	return found, err
}

func (d *decoder) topologies() (all []Topology) {
	d.structs(func() {
		var t Topology
		d.fields(func(kind byte, id uint16) {
			into := map[uint16]*string{1: &t.ID, 2: &t.Name, 7: &t.Status}[id]
			switch {
			case into != nil && kind == typeString:
				*into = d.text()
			case id == 6 && kind == typeI32:
				t.Uptime = time.Duration(int32(d.u32())) * time.Second
			default:
				d.skip(kind, 0)
			}
		})
		all = append(all, t)
	})
	return all
}

// topologyConf decodes the answer of getTopologyConf, which is JSON.
func topologyConf(frame []byte) (conf map[string]any, err error) {
	text := ""
	if err = result(frame, typeString, "getTopologyConf", func(d *decoder) { text = d.text() }); err != nil {
		return nil, err
	}
	if err = json.Unmarshal([]byte(text), &conf); err != nil {
		return nil, fmt.Errorf("the topology's configuration is not valid JSON: %w", err)
	}
	return conf, nil
}

// topologyErrors decodes TopologyInfo.errors (6) in the answer of getTopologyInfo: for each component a list of
// ErrorInfo, with error (1) and error_time_secs (2).
func topologyErrors(frame []byte) (all []ComponentError, err error) {
	err = result(frame, typeStruct, "getTopologyInfo", func(d *decoder) {
		d.field(6, typeMap, func() { all = d.componentErrors() })
	})
	slices.SortStableFunc(all, func(a, b ComponentError) int { return b.Time.Compare(a.Time) })
	return all, err
}

func (d *decoder) componentErrors() (all []ComponentError) {
	key, value := d.u8(), d.u8()
	for n := d.u32(); n > 0 && d.err == nil; n-- {
		if key != typeString || value != typeList {
			d.skip(key, 0)
			d.skip(value, 0)
			continue
		}
		component := d.text()
		d.structs(func() {
			e := ComponentError{Component: component}
			d.fields(func(kind byte, id uint16) {
				switch {
				case id == 1 && kind == typeString:
					e.Text = d.text()
				case id == 2 && kind == typeI32:
					e.Time = time.Unix(int64(int32(d.u32())), 0)
				default:
					d.skip(kind, 0)
				}
			})
			all = append(all, e)
		})
	}
	return all
}
