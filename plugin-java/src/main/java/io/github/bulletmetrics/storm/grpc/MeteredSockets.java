package io.github.bulletmetrics.storm.grpc;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import javax.net.SocketFactory;

/** Creates the sockets of one connection. Reading from them is limited by an allowance. */
final class MeteredSockets extends SocketFactory {
    private final ReadAllowance allowance;

    MeteredSockets(ReadAllowance allowance) {
        this.allowance = allowance;
    }

    private static final class MeteredSocket extends Socket {
        private final ReadAllowance allowance;

        MeteredSocket(ReadAllowance allowance) {
            this.allowance = allowance;
        }

        @Override
        public InputStream getInputStream() throws IOException {
            return new MeteredStream(super.getInputStream(), allowance);
        }
    }

    private static final class MeteredStream extends FilterInputStream {
        private final ReadAllowance allowance;

        MeteredStream(InputStream in, ReadAllowance allowance) {
            super(in);
            this.allowance = allowance;
        }

        @Override
        public int read() throws IOException {
            int octet = super.read();
            allowance.read(octet < 0 ? 0 : 1);
            return octet;
        }

        @Override
        public int read(byte[] into, int from, int length) throws IOException {
            int count = super.read(into, from, length);
            allowance.read(Math.max(0, count));
            return count;
        }
    }

    @Override
    public Socket createSocket() {
        return new MeteredSocket(allowance);
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return connected(null, new InetSocketAddress(host, port));
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
        return connected(new InetSocketAddress(local, localPort), new InetSocketAddress(host, port));
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return connected(null, new InetSocketAddress(host, port));
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) throws IOException {
        return connected(new InetSocketAddress(local, localPort), new InetSocketAddress(host, port));
    }

    private Socket connected(SocketAddress from, SocketAddress to) throws IOException {
        Socket socket = createSocket();
        try {
            socket.bind(from);
            socket.connect(to);
            return socket;
        } catch (IOException failed) {
            socket.close();
            throw failed;
        }
    }
}
