package access

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"

	"golang.org/x/crypto/bcrypt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

// maxWaiting is how many passwords may wait to be checked. It is shared among addresses, because one check takes 60 ms
// of a core. maxKnown is how many correct passwords are remembered, as hashes.
const (
	maxWaiting = 8
	maxKnown   = 1024
)

// nobodysHash is a bcrypt hash of an unknown password. It is compared if the user does not exist, so that the answer
// takes the same time.
const nobodysHash = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"

// passwords compares passwords with bcrypt hashes, one at a time, so that guessing cannot use more than one core. A
// client sends its password with each request. Therefore correct passwords are remembered, as hashes with a salt of
// this process. Wrong passwords are not remembered.
type passwords struct {
	waiting *quota.Slots
	one     sync.Mutex // held during a comparison

	mu    sync.Mutex
	salt  [32]byte
	known map[[sha256.Size]byte]bool
}

func newPasswords() *passwords {
	p := &passwords{waiting: quota.New(maxWaiting), known: map[[sha256.Size]byte]bool{}}
	_, _ = rand.Read(p.salt[:]) // never fails (crypto/rand)
	return p
}

// right reports whether a password matches the hash. The hash of a user who does not exist is "". The error busy means
// that too many passwords from this address are waiting.
func (p *passwords) right(hash, password, address string) (right bool, busy error) {
	exists := hash != ""
	if !exists {
		hash = nobodysHash
	}
	key := p.key(hash, password)
	p.mu.Lock()
	known := p.known[key]
	p.mu.Unlock()
	if known {
		return exists, nil
	}
	release, err := p.waiting.Take(address)
	if err != nil {
		return false, errors.New("too many passwords are being checked; retry in a second")
	}
	defer release()
	p.one.Lock()
	err = bcrypt.CompareHashAndPassword([]byte(hash), []byte(password))
	p.one.Unlock()
	if err != nil || !exists {
		return false, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxKnown {
		clear(p.known)
	}
	p.known[key] = true
	return true, nil
}

// key returns a hash of the password and its bcrypt hash. After a password change the old password is therefore no
// longer found.
func (p *passwords) key(hash, password string) [sha256.Size]byte {
	h := sha256.New()
	h.Write(p.salt[:])
	h.Write([]byte(hash)) // has a fixed length
	h.Write([]byte(password))
	return [sha256.Size]byte(h.Sum(nil))
}
