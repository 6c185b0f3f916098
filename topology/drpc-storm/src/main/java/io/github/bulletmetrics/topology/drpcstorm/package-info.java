/** Storm 1.2.4's DRPC server over HTTP with a topology that answers its calls, for a test of the load client. */
package io.github.bulletmetrics.topology.drpcstorm;
