package ingest

import "encoding/binary"

// frames parses the HTTP/2 framing (RFC 9113, section 4.1) of one direction of a connection, however the bytes are
// split. It stores no bytes and reports no errors: gRPC refuses bytes that are not HTTP/2.
type frames struct {
	preface int // bytes before the first frame that are still missing
	header  [frameHeaderBytes]byte
	have    int // bytes of the header that have arrived
	left    int // bytes of the payload that are still missing
	padding int // bytes of padding at the end of the payload
	padded  bool
}

const frameHeaderBytes = 9

// Types and flags of frames that are relevant here.
const (
	frameData    = 0x0
	frameHeaders = 0x1
	frameReset   = 0x3

	flagEndStream = 0x1
	flagPadded    = 0x8
)

func (f *frames) kind() byte     { return f.header[3] }
func (f *frames) flags() byte    { return f.header[4] }
func (f *frames) stream() uint32 { return binary.BigEndian.Uint32(f.header[5:]) & (1<<31 - 1) }

// read parses the next bytes of the connection. It calls data with the payload of each DATA frame, piece by piece and
// without padding, and ended at the end of each frame.
func (f *frames) read(p []byte, data func(stream uint32, piece []byte), ended func(f *frames)) {
	n := min(f.preface, len(p))
	f.preface -= n
	for p = p[n:]; len(p) > 0; {
		if f.have < frameHeaderBytes {
			n := copy(f.header[f.have:], p)
			p, f.have = p[n:], f.have+n
			if f.have < frameHeaderBytes {
				return
			}
			f.left = int(f.header[0])<<16 | int(f.header[1])<<8 | int(f.header[2])
			f.padding, f.padded = 0, f.kind() == frameData && f.flags()&flagPadded != 0
		}
		n := min(f.left, len(p))
		f.left -= n
		if f.kind() == frameData {
			f.payload(p[:n], data)
		}
		p = p[n:]
		if f.left == 0 {
			ended(f)
			f.have = 0
		}
	}
}

// payload passes on a piece of a DATA frame without its padding. f.left is the number of bytes after the piece.
func (f *frames) payload(piece []byte, data func(uint32, []byte)) {
	if f.padded && len(piece) > 0 {
		f.padding, f.padded = int(piece[0]), false
		piece = piece[1:]
	}
	if surplus := f.padding - f.left; surplus > 0 {
		piece = piece[:max(0, len(piece)-surplus)]
	}
	if len(piece) > 0 && data != nil {
		data(f.stream(), piece)
	}
}
