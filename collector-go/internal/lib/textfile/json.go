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
		return fmt.Errorf("expected a JSON object, found %s", kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("the field %q must not be a JSON %s", kind.Field, kind.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON: %w, at byte %d", err, syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON is incomplete")
	}
	return err
}
