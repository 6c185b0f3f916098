// Package packages installs, upgrades, rolls back and removes the .deb of a release on this Debian, without changing
// it: all that is written goes into a layer in memory above its files. It needs root, for the mounts. make test-release
// runs it, with the tag release.
package packages
