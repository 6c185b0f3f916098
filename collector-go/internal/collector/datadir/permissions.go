package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// forbidden are the permissions that files of a data directory never have: writing for the owner's group, and anything
// for other users.
const forbidden = 0o027

// Restrict sets the umask of this process so that other users can read none of the files that it creates, whatever mode
// a library asks for. It also restricts the existing files of the data directory.
func Restrict(dir string, logger *slog.Logger) error {
	syscall.Umask(syscall.Umask(forbidden) | forbidden)
	restricted := 0
	for _, name := range own {
		root, err := filepath.EvalSymlinks(filepath.Join(dir, name)) // it may be on another disk
		if errors.Is(err, fs.ErrNotExist) {
			continue // a broken link is reported when it is opened
		} else if err != nil {
			return fmt.Errorf("data_dir: %w", err)
		}
		err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !entry.IsDir() && !entry.Type().IsRegular() {
				return err
			}
			info, err := entry.Info()
			if err != nil || info.Mode().Perm()&forbidden == 0 {
				return err
			}
			restricted++
			return os.Chmod(path, info.Mode().Perm()&^forbidden)
		})
		if err != nil {
			return fmt.Errorf("data_dir: remove the permissions of other users: %w", err)
		}
	}
	if restricted > 0 {
		logger.Warn("removed the permissions of other users from files in the data directory", "files", restricted,
			"data", dir)
	}
	return nil
}

// unusable returns the faults of the collector's directories that are not directories, and of the files in them that
// this user cannot read and write.
func unusable(dir string) (all []Fault) {
	for _, name := range own {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !info.IsDir() {
			all = append(all, Fault{File: path, Err: fmt.Errorf("%s is not a directory: move it out of the data directory", path)})
			continue
		}
		_ = filepath.WalkDir(path+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			use := uint32(unix.R_OK | unix.W_OK)
			if entry != nil && entry.IsDir() {
				use |= unix.X_OK
			}
			if denied := unix.Access(path, use); errors.Is(denied, unix.EACCES) || errors.Is(denied, unix.EROFS) {
				all = append(all, Fault{File: path, Err: fmt.Errorf("%s: this user cannot read and write it: %w; give it to the user that runs the collector (chown)",
					path, denied)})
				if entry == nil || entry.IsDir() {
					return fs.SkipDir
				}
			}
			return nil
		})
	}
	return all
}
