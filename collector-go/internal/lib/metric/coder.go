package metric

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// Coder reads or writes a state, so that one function describes a format in both directions. With two functions, a
// field that only one of them has would shift all fields after it. Each method writes the value that its argument
// points at, or reads a value into it.
type Coder struct {
	e *encoder
	d *decoder
	// Version is the version of the format. A field that a later version added is coded only from that version on.
	Version uint64
}

// Writing returns a coder that has written the magic and the version of a format. Finish returns its bytes.
func Writing(magic string, version uint64) *Coder {
	return &Coder{e: newEncoder(magic, version), Version: version}
}

// Reading returns a coder that reads bytes of one of the supported versions, of which the last is the newest. The error
// says what is wrong with the bytes; it is a disk.ErrNewer if a newer program wrote them. Done ends the reading.
func Reading(data []byte, magic string, supported ...uint64) (*Coder, error) {
	d, version, err := newDecoder(data, magic, supported[len(supported)-1])
	if err == nil && !slices.Contains(supported, version) {
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(supported), "[]"), " ", " and ")
		err = fmt.Errorf("its format is version %d, but this program supports only %s", version, list)
	}
	return &Coder{d: d, Version: version}, err
}

// Finish returns everything that was written, with a checksum. It can be called only once.
func (c *Coder) Finish() []byte { return c.e.Finish() }

// Done returns the first error of a reader, or an error if bytes are left.
func (c *Coder) Done() error { return c.d.Done() }

// Fail ends the reading with an error.
func (c *Coder) Fail(err error) { c.d.Fail(err) }

// Reads reports whether the coder reads.
func (c *Coder) Reads() bool { return c.d != nil }

// Demand fails the reading if a condition does not hold, and reports whether reading may go on. A writer demands
// nothing. The text names the contradiction.
func (c *Coder) Demand(holds bool, text string) bool {
	if c.d == nil {
		return true
	}
	if !holds {
		c.d.Fail(errors.New(text))
	}
	return c.d.Err() == nil
}

// Err returns the first error of a reader.
func (c *Coder) Err() error {
	if c.d == nil {
		return nil
	}
	return c.d.Err()
}

// Each codes the number of elements of a list, and yields the index of each of them until an error occurs. The body of
// the loop codes the element.
func (c *Coder) Each(n int) iter.Seq[int] {
	n = c.Count(n)
	return func(yield func(int) bool) {
		for i := 0; i < n && c.Err() == nil && yield(i); i++ {
		}
	}
}

// Elements codes the number of elements of a list, and yields those of a writer, or zero values to a reader, until an
// error occurs. The body of the loop codes the element.
func Elements[T any](c *Coder, all []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range c.Each(len(all)) {
			var element T
			if c.d == nil {
				element = all[i]
			}
			if !yield(element) {
				return
			}
		}
	}
}

// Count codes the number of elements of a list. A reader gets at most as many as the rest of its bytes can have, and
// none after an error.
func (c *Coder) Count(n int) int {
	if c.d != nil {
		return c.d.Count(1)
	}
	c.e.Uint(uint64(n))
	return n
}

func (c *Coder) Int(all ...*int64) {
	for _, v := range all {
		if c.d != nil {
			*v = c.d.Int()
		} else {
			c.e.Int(*v)
		}
	}
}

func (c *Coder) Int32(v *int32) {
	if c.d != nil {
		*v = c.d.Int32()
	} else {
		c.e.Int(int64(*v))
	}
}

func (c *Coder) Uint(all ...*uint64) {
	for _, v := range all {
		if c.d != nil {
			*v = c.d.Uint()
		} else {
			c.e.Uint(*v)
		}
	}
}

func (c *Coder) Uint32(v *uint32) {
	if c.d != nil {
		*v = c.d.Uint32()
	} else {
		c.e.Uint(uint64(*v))
	}
}

func (c *Coder) Float(all ...*float64) {
	for _, v := range all {
		if c.d != nil {
			*v = c.d.Float()
		} else {
			c.e.Float(*v)
		}
	}
}

func (c *Coder) Bool(v *bool) {
	if c.d != nil {
		*v = c.d.Bool()
	} else {
		c.e.Bool(*v)
	}
}

func (c *Coder) String(all ...*string) {
	for _, v := range all {
		if c.d != nil {
			*v = c.d.String()
		} else {
			c.e.String(*v)
		}
	}
}

// Worker, Raw, Series and Rule code a value of this package.
func (c *Coder) Worker(v *Worker) {
	c.String(&v.Topology, &v.Host)
	c.Uint32(&v.Port)
}

func (c *Coder) Raw(v *Raw) {
	c.Worker(&v.Worker)
	c.String(&v.Component)
	c.Int32(&v.Task)
	c.String(&v.Name, &v.Key)
	c.uint8((*uint8)(&v.Shape))
	c.uint8((*uint8)(&v.Temporality))
	c.Int(&v.IntervalMs, &v.PackSpanMs)
}

// Series demands that the labels are sorted by name, because labels that are not sorted are never found.
func (c *Coder) Series(v *Series) {
	c.uint8((*uint8)(&v.Kind))
	if !c.Reads() {
		c.Count(v.Labels.Len())
		v.Labels.Range(func(l labels.Label) { c.String(&l.Name, &l.Value) })
		return
	}
	n := c.Count(0)
	builder := labels.NewScratchBuilder(n)
	var name, value, previous string
	for range n {
		c.String(&name, &value)
		c.Demand(name > previous, "labels are not sorted by name")
		builder.Add(name, value)
		previous = name
	}
	if c.Err() == nil {
		v.Labels = builder.Labels()
	}
}

func (c *Coder) Rule(v *Rule) {
	c.Worker(&v.Worker)
	c.Series(&v.Series)
	c.String(&v.MinName, &v.MaxName, &v.NegativeName, &v.RestartsName)
	c.uint8((*uint8)(&v.Temporality))
	c.Float(&v.PerUnit, &v.Least, &v.Most)
	c.Int(&v.IntervalMs, &v.PackSpanMs)
}

func (c *Coder) uint8(v *uint8) {
	if c.d != nil {
		*v = c.d.Uint8()
	} else {
		c.e.Uint(uint64(*v))
	}
}

// New returns a new value to a reader, which keeps it, and the value that it has to a writer.
func New[T any](c *Coder, v **T) *T {
	if c.d != nil {
		*v = new(T)
	}
	return *v
}

// List codes the number of elements and then each of them.
func List[T any](c *Coder, all *[]T, one func(*T)) {
	for i := range c.Each(len(*all)) {
		if c.Reads() {
			var v T
			*all = append(*all, v)
		}
		one(&(*all)[i])
	}
}

// Strings codes a list of strings.
func (c *Coder) Strings(all *[]string) { List(c, all, func(s *string) { c.String(s) }) }

// Map codes the number of entries and then each of them, in the order of their keys, so that equal maps have equal
// bytes. It fails if a reader reads a key twice, because the second entry would silently replace the first.
func Map[K comparable, V any](c *Coder, all map[K]V, compare func(a, b K) int, key func(*K), value func(*K, *V)) {
	keys := slices.SortedFunc(maps.Keys(all), compare)
	for k := range Elements(c, keys) {
		key(&k)
		v, twice := all[k]
		value(&k, &v)
		if c.Reads() && c.Demand(!twice, "an entry appears twice") {
			all[k] = v
		}
	}
}

// Optional codes whether a value is there, and then the value.
func Optional[T any](c *Coder, v **T, code func(*T)) {
	there := *v != nil
	if c.Bool(&there); there {
		code(New(c, v))
	}
}
