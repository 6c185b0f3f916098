package io.github.bulletmetrics.storm.collector;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** Self-signed certificates for 127.0.0.1 and localhost, made by the JDK's keytool, with their keys, as PEM files. */
public final class Certificates {
    private static final String PASSWORD = "changeit";

    private final File certificate;
    private final File key;

    private Certificates(File certificate, File key) {
        this.certificate = certificate;
        this.key = key;
    }

    /** Makes one in a directory. */
    public static Certificates make(Path directory, String name) throws Exception {
        Path store = directory.resolve(name + ".p12");
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "keytool").toString()));
        command.addAll(List.of("-genkeypair", "-alias", name, "-keyalg", "EC", "-groupname", "secp256r1", "-dname",
                "CN=" + name, "-validity", "2",
                "-ext", "san=ip:127.0.0.1,dns:localhost", "-storetype", "PKCS12", "-keystore", store.toString(),
                "-storepass", PASSWORD));
        Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(keytool.getInputStream().readAllBytes());
        if (keytool.waitFor() != 0) {
            throw new IOException("keytool failed: " + output);
        }
        return export(directory, name, store);
    }

    private static Certificates export(Path directory, String name, Path store) throws IOException,
            GeneralSecurityException {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        Certificate certificate = keys.getCertificate(name);
        Key key = keys.getKey(name, PASSWORD.toCharArray());
        return new Certificates(pem(directory.resolve(name + ".crt"), "CERTIFICATE", certificate.getEncoded()),
                pem(directory.resolve(name + ".key"), "PRIVATE KEY", key.getEncoded()));
    }

    private static File pem(Path file, String what, byte[] bytes) throws IOException {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
        return Files.writeString(file, "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what + "-----\n")
                .toFile();
    }

    public File certificate() {
        return certificate;
    }

    public File key() {
        return key;
    }
}
