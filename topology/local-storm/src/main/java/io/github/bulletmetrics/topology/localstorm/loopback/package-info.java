/**
 * What runs inside Storm's own JVMs, daemons, workers and submitters alike: a jar of its own in the distribution's
 * {@code lib-worker}.
 */
package io.github.bulletmetrics.topology.localstorm.loopback;
