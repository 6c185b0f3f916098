//go:build unix

package embedded

import "golang.org/x/sys/unix"

// diskSpace is what is free for us on the file system of dir, and its size, in bytes.
func diskSpace(dir string) (free, size uint64, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, 0, err
	}
	return fs.Bavail * uint64(fs.Bsize), fs.Blocks * uint64(fs.Bsize), nil
}
