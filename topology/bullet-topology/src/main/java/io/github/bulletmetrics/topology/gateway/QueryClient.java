package io.github.bulletmetrics.topology.gateway;

/**
 * The client of a held query: gets the results of its windows, if it takes any, and then one end. Neither call blocks
 * on the client; both may come from any thread.
 */
interface QueryClient {
    /** Takes what one window gave; false, and nothing is done, if this client takes one result only. */
    boolean window(String result);

    /**
     * Takes the last result, or the error, in Bullet's shape.
     *
     * @param status what HTTP calls it; a client whose answer has begun cannot be informed.
     */
    void end(int status, String result);
}
