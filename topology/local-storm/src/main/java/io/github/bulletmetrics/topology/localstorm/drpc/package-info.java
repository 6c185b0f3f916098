/**
 * The DRPC daemon, a process of the cluster: Storm's own DRPC and its Thrift ports, behind an HTTP port of Jetty. Runs
 * in a JVM with Storm's daemon class path; knows nothing of the launcher.
 */
package io.github.bulletmetrics.topology.localstorm.drpc;
