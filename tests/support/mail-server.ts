/** A real mail server in this process: takes what it is sent, and refuses when it is told to. */
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

/** A mail as it came. `user` had signed in, `secure` says whether the way was encrypted. */
export type Received = Email & { from_envelope: string; recipients: string[]; user: unknown; secure: boolean };
export type MailServer = Awaited<ReturnType<typeof startMailServer>>;

const refusal = (code: number) => Object.assign(new Error("Not this one"), { responseCode: code });

/** Start it. With a `user` a password is asked for; `options` are those of smtp-server. */
export async function startMailServer({
  user,
  ...options
}: { user?: { name: string; password: string } } & SMTPServerOptions = {}) {
  const received: Received[] = [];
  /** Everybody who tried to sign in, and by which way. */
  const signIns: { name: string | undefined; secure: boolean }[] = [];
  let refusing: number | undefined;
  let tried = 0;
  const server = new SMTPServer({
    authOptional: user === undefined,
    // Without a certificate of its own it comes with one for localhost.
    disabledCommands: user === undefined ? ["AUTH", "STARTTLS"] : [],
    logger: false,
    ...options,
    onAuth({ username, password }, session, done) {
      signIns.push({ name: username, secure: session.secure });
      if (username === user?.name && password === user?.password) done(null, { user: username });
      else done(new Error("Wrong user or password"));
    },
    onRcptTo(_address, _session, done) {
      tried += 1;
      done(refusing === undefined ? null : refusal(refusing));
    },
    onData(stream, { envelope, user: name, secure }, done) {
      buffer(stream)
        .then((raw) => PostalMime.parse(raw))
        .then(
          (email) => {
            const recipients = envelope.rcptTo.map(({ address }) => address);
            const from_envelope = envelope.mailFrom ? envelope.mailFrom.address : "";
            received.push({ ...email, from_envelope, recipients, user: name, secure });
            done();
          },
          (error: Error) => done(error),
        );
    },
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    received,
    signIns,
    /** How often somebody wanted to hand over a mail. */
    tried: () => tried,
    /** Refuse every receiver with this code from now on; none takes them again. */
    refuse(code: number | undefined) {
      refusing = code;
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
