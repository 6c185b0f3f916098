package column

import (
	"encoding/binary"
	"math/bits"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// has reports whether a slot holds a slice. Everywhere in this package, a nil present means that all slots do.
func has(present []uint64, slot int) bool {
	return present == nil || present[slot>>6]>>(slot&63)&1 == 1
}

// runEnd returns the first slot after at whose presence differs from that of at, or slots if there is none. It looks
// at 64 slots at once.
func runEnd(present []uint64, at, slots int) int {
	stored := has(present, at)
	for at < slots {
		word := present[at>>6] >> (at & 63)
		if stored {
			word = ^word
		}
		if n := bits.TrailingZeros64(word); n < 64-at&63 {
			return min(at+n, slots)
		}
		at = at&^63 + 64
	}
	return slots
}

// appendPresence writes the lengths of alternating runs: of slots that hold a slice, and of slots that do not.
// Usually several adjacent slices are missing, while a worker is down, so a few numbers suffice. The first run is of
// slots that hold a slice, and is empty if slot 0 does not. A nil present is one run of all slots.
func appendPresence(dst []byte, present []uint64, slots int) []byte {
	runs := uint64(0)
	if slots > 0 && !has(present, 0) {
		runs = 1
	}
	each := func(do func(length int)) {
		if present == nil {
			if slots > 0 {
				do(slots)
			}
			return
		}
		for at := 0; at < slots; {
			end := runEnd(present, at, slots)
			do(end - at)
			at = end
		}
	}
	empty := runs == 1
	each(func(int) { runs++ })
	dst = binary.AppendUvarint(dst, runs)
	if empty {
		dst = append(dst, 0)
	}
	each(func(length int) { dst = binary.AppendUvarint(dst, uint64(length)) })
	return dst
}

// readPresence reads what appendPresence wrote. present is nil if all slots hold a slice, and stored is how many do.
// The lengths of the runs must add up to slots.
func readPresence(src []byte, slots int) (present []uint64, stored int, rest []byte, err error) {
	r := varint.Of(src)
	at := 0
	for i := range r.Count(1) {
		length := r.Length(slots - at)
		if length < slots && present == nil {
			present = make([]uint64, (slots+63)/64)
		}
		if i&1 == 0 {
			stored += length
			if present != nil {
				setRange(present, at, at+length)
			}
		}
		at += length
	}
	if r.Err() != nil || at != slots {
		return nil, 0, nil, ErrDamaged
	}
	if stored == slots {
		present = nil
	}
	return present, stored, r.Rest(), nil
}

// setRange sets the bits in [from, to).
func setRange(present []uint64, from, to int) {
	for from < to {
		n := min(64-from&63, to-from)
		present[from>>6] |= ^uint64(0) >> (64 - n) << (from & 63)
		from += n
	}
}

// gather appends the values of the slots that hold a slice. Only these are encoded, so an absent slot only costs its
// presence.
func gather[T any](to, all []T, present []uint64) []T {
	for at := 0; at < len(all); {
		end := runEnd(present, at, len(all))
		if has(present, at) {
			to = append(to, all[at:end]...)
		}
		at = end
	}
	return to
}

// scatter is the inverse of gather, in place. It moves the first stored values of all to the slots that hold a slice.
// It begins with the last, so that no value is overwritten before it is moved.
func scatter[T any](all []T, present []uint64, stored int) {
	for at := len(all) - 1; at >= 0 && stored <= at; at-- {
		if has(present, at) {
			stored--
			all[at] = all[stored]
		}
	}
}

// count returns how many of the slots hold a slice. It ignores bits after the last slot.
func count(present []uint64, slots int) int {
	n := 0
	for i := 0; i < slots; i += 64 {
		word := present[i>>6]
		if slots-i < 64 {
			word &= 1<<(slots-i) - 1
		}
		n += bits.OnesCount64(word)
	}
	return n
}
