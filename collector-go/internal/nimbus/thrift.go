package nimbus

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Thrift's binary protocol in a frame (thrift.apache.org, thrift-binary-protocol.md): types, and kinds of messages.
const (
	typeStop, typeBool, typeByte, typeDouble, typeI16, typeI32, typeI64, typeString, typeStruct, typeMap, typeSet, typeList = 0, 2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15

	strict                     = 0x8001_0000
	kindCall, kindReply uint32 = 1, 2
)

// call is a frame that calls a method without arguments.
func call(method string) []byte {
	message := binary.BigEndian.AppendUint32(nil, strict|kindCall)
	message = binary.BigEndian.AppendUint32(message, uint32(len(method)))
	message = append(message, method...)
	message = binary.BigEndian.AppendUint32(message, 1) // sequence
	message = append(message, typeStop)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

// decoder reads a frame; after the first error it reads zeros.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) bytes(n int) []byte {
	if d.err != nil || n < 0 || n > len(d.rest) {
		if d.err == nil {
			d.err = errors.New("the answer ends early")
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

// fields calls take for each field of a struct; take reads or skips it.
func (d *decoder) fields(take func(kind byte, id uint16)) {
	for d.err == nil {
		kind := d.u8()
		if kind == typeStop {
			return
		}
		take(kind, binary.BigEndian.Uint16(d.bytes(2)))
	}
}

// maxDepth is deeper than Storm nests.
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
			d.err = errors.New("the answer is nested too deep")
			return
		}
		d.skipMany(kind, depth+1)
	default:
		d.err = fmt.Errorf("there is no type %d in Thrift", kind)
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

// clusterInfo reads the answer of getClusterInfo: ClusterSummary.topologies (3), of each TopologySummary id (1), name (2) and status (7); they have
// had these numbers since Storm 0.9.
func clusterInfo(frame []byte) (found []Topology, err error) {
	d := &decoder{rest: frame}
	if kind := d.u32(); d.err == nil && kind != strict|kindReply {
		return nil, fmt.Errorf("no answer to getClusterInfo but message %#x", kind)
	}
	d.text()
	d.u32()
	answered := false
	d.fields(func(kind byte, id uint16) {
		if id != 0 || kind != typeStruct { // an exception
			d.skip(kind, 0)
			return
		}
		answered = true
		d.fields(func(kind byte, id uint16) {
			if id != 3 || kind != typeList {
				d.skip(kind, 0)
				return
			}
			found = d.topologies()
		})
	})
	switch {
	case d.err != nil:
		return nil, d.err
	case !answered:
		return nil, errors.New("it refuses to describe its cluster")
	}
	return found, nil
}

func (d *decoder) topologies() (all []Topology) {
	element := d.u8()
	for n := d.u32(); n > 0 && d.err == nil; n-- {
		if element != typeStruct {
			d.skip(element, 0)
			continue
		}
		var t Topology
		d.fields(func(kind byte, id uint16) {
			into := map[uint16]*string{1: &t.ID, 2: &t.Name, 7: &t.Status}[id]
			if into == nil || kind != typeString {
				d.skip(kind, 0)
				return
			}
			*into = d.text()
		})
		all = append(all, t)
	}
	return all
}
