package access

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"

	"golang.org/x/crypto/bcrypt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

// Bounds of passwords: so many wait to be looked at, shared between addresses, since one look takes 60 ms of a core; so
// many that were right are remembered, by a hash of this process' own.
const (
	maxWaiting = 8
	maxKnown   = 1024
)

// nobodysHash is bcrypt's of a password that is nobody's: a user who does not exist takes as long as one who does.
const nobodysHash = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"

// passwords compares passwords with bcrypt hashes, one at a time, so that guesses cannot take more than one core.
// Passwords that were right are remembered by a hash with a salt of this process, since each request of a client shows
// its password again. Wrong ones are not.
type passwords struct {
	waiting *quota.Slots
	one     sync.Mutex // a look

	mu    sync.Mutex
	salt  [32]byte
	known map[[sha256.Size]byte]bool
}

func newPasswords() *passwords {
	p := &passwords{waiting: quota.New(maxWaiting), known: map[[sha256.Size]byte]bool{}}
	_, _ = rand.Read(p.salt[:]) // never fails (crypto/rand)
	return p
}

// right reports whether a password has the hash; "" is the hash of a user who does not exist. busy reports that too
// many of that address wait.
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
		return false, errors.New("too many passwords wait to be checked; try again in a second")
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

// key is a hash over the password and its bcrypt hash, so that a changed password is not remembered.
func (p *passwords) key(hash, password string) [sha256.Size]byte {
	h := sha256.New()
	h.Write(p.salt[:])
	h.Write([]byte(hash)) // of a fixed length
	h.Write([]byte(password))
	return [sha256.Size]byte(h.Sum(nil))
}
