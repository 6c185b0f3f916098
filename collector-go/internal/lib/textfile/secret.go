package textfile

import (
	"fmt"
	"strings"
)

// Token returns the token in a file, which must have only one line. A token consists of printable ASCII characters
// without spaces, so that it can be sent as a header.
func Token(path string) (string, error) {
	token, err := secret(path, "token")
	if err == nil && strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: a token has only printable ASCII characters and no space; write nothing but the token",
			path)
	}
	return token, err
}

// Password returns the password or user name in a file, which must have only one line.
func Password(path string) (string, error) {
	password, err := secret(path, "password")
	if err == nil && strings.ContainsFunc(password, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("%s: holds a control character; write nothing but the password", path)
	}
	return password, err
}

// secret returns the only line of a file. It ignores surrounding whitespace and empty lines. No error repeats the
// secret.
func secret(path, what string) (string, error) {
	text, err := Read(path, Most)
	if err != nil {
		return "", err
	}
	found := ""
	for number, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case found != "":
			return "", fmt.Errorf("%s:%d: a second line; write the %s alone, on one line", path, number+1, what)
		default:
			found = line
		}
	}
	if found == "" {
		return "", fmt.Errorf("%s is empty; write the %s into it, on one line", path, what)
	}
	return found, nil
}
