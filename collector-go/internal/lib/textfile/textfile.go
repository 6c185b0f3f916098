// Package textfile reads text files that people write or export from other programs: settings, rules, tables, tokens
// and captures. Every such file is read here, so that the same forms of text are accepted and the errors are the same.
//
// A byte order mark is removed, and line ends become "\n". UTF-16, which Windows programs call "Unicode", and binary
// files are refused with a message that says what to do. The rule for paths that people write is here too
// (pathname.go). The package must not know what a file means.
package textfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// Most is the maximum size in bytes of a file with settings, rules, queries or tokens, which people write by hand.
const Most = 4 << 20

// byteOrderMark is the byte order mark in UTF-8.
var byteOrderMark = []byte("\ufeff")

// Read returns the cleaned text of a file of at most most bytes. Errors name the path.
func Read(path string, most int) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > most:
		return nil, fmt.Errorf("%s: larger than %s, the maximum", path, size(most))
	}
	return Clean(path, text)
}

// Clean returns the cleaned text of a file's content. name is the file's name for errors.
func Clean(name string, text []byte) ([]byte, error) {
	if err := refuse(name, text); err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, byteOrderMark)
	if at := invalid(text); at >= 0 && !bytes.Contains(text, []byte("-----BEGIN ")) { // PEM comments have any encoding
		return nil, fmt.Errorf("%s:%d: not UTF-8 text; save the file in UTF-8", name, 1+bytes.Count(text[:at], []byte("\n")))
	}
	if bytes.IndexByte(text, '\r') >= 0 {
		text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	}
	return text, nil
}

// Open opens a file that is too large to be read at once, such as a capture. It removes a byte order mark, but does
// not convert "\r\n"; line readers do that themselves.
func Open(path string) (io.ReadCloser, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	from := bufio.NewReader(f)
	head, err := from.Peek(sniffedBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		_ = f.Close() // opened only for reading
		return nil, err
	}
	if err := refuse(path, head); err != nil {
		_ = f.Close()
		return nil, err
	}
	if bytes.HasPrefix(head, byteOrderMark) {
		_, _ = from.Discard(len(byteOrderMark)) // cannot fail after Peek
	}
	return file{from, f}, nil
}

type file struct {
	io.Reader
	io.Closer
}

// sniffedBytes is the number of bytes that is checked to recognize a file that is not text.
const sniffedBytes = 512

func open(path string) (*os.File, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if about, err := f.Stat(); err == nil && about.IsDir() {
		_ = f.Close() // opened only for reading
		return nil, fmt.Errorf("%s is a directory; name a file in it", path)
	}
	return f, nil
}

// refuse recognizes text that is not UTF-8 by its first bytes, and binary files by zero bytes.
func refuse(name string, text []byte) error {
	const save = "; save it in UTF-8, or convert it: iconv -f %s -t UTF-8"
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe, 0, 0}), bytes.HasPrefix(text, []byte{0, 0, 0xfe, 0xff}):
		return fmt.Errorf("%s is UTF-32"+save, name, "UTF-32")
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}), bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		return fmt.Errorf("%s is UTF-16"+save, name, "UTF-16")
	case len(text) >= 4 && text[0] != 0 && text[1] == 0 && text[2] != 0 && text[3] == 0:
		return fmt.Errorf("%s is UTF-16 without a byte order mark"+save, name, "UTF-16LE")
	case len(text) >= 4 && text[0] == 0 && text[1] != 0 && text[2] == 0 && text[3] != 0:
		return fmt.Errorf("%s is UTF-16 without a byte order mark"+save, name, "UTF-16BE")
	case bytes.IndexByte(text, 0) >= 0:
		return fmt.Errorf("%s:%d: contains a zero byte, so it is not a text file; use a text file in UTF-8", name,
			1+bytes.Count(text[:bytes.IndexByte(text, 0)], []byte("\n")))
	}
	return nil
}

// invalid returns the index of the first byte that is not UTF-8, or -1 if there is none.
func invalid(text []byte) int {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

func size(bytes int) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

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
