// Package e2e tests everything together on real parts: the collector's binary, the plugin's jar inside real workers of
// a real Storm cluster, the Bullet topology and its gateway. It needs what make build leaves, takes minutes, and so is
// built only with the tag e2e; make test runs a part of it, make test-cluster most, and make test-all everything.
package e2e
