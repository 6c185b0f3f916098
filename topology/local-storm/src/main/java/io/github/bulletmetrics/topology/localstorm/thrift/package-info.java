/**
 * The launcher's talk with Nimbus: loaded only together with the jars of a distribution, never by the launcher alone.
 */
package io.github.bulletmetrics.topology.localstorm.thrift;
