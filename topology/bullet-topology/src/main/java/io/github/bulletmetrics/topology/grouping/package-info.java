/**
 * How tuples find their join bolt task when queries are replayed: by an index that the replay bolt can compute as well.
 */
package io.github.bulletmetrics.topology.grouping;
