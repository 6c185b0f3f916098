package textfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// JSONFault explains in plain words why JSON could not be decoded into a struct. Other errors are returned unchanged.
func JSONFault(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("found a JSON %s in place of an object", kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("the field %q cannot hold a JSON %s", kind.Field, kind.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON: %w, at byte %d", err, syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON ends too early")
	}
	return err
}
