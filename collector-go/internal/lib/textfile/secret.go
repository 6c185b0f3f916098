package textfile

import (
	"fmt"
	"strings"
)

// Token reads a file that holds a token, on one line. It returns what can be sent as a header: printable ASCII without
// spaces.
func Token(path string) (string, error) {
	token, err := secret(path, "token")
	if err == nil && strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: a token has only printable ASCII characters and no space; write nothing but the token",
			path)
	}
	return token, err
}

// Password reads a file that holds a password or a user's name, on one line.
func Password(path string) (string, error) {
	password, err := secret(path, "password")
	if err == nil && strings.ContainsFunc(password, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("%s: holds a control character; write nothing but the password", path)
	}
	return password, err
}

// secret reads the only line of a file. Space around it and empty lines do not count. No error repeats it.
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
