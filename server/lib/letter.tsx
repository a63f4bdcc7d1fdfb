import { Body } from "@react-email/body";
import { Button } from "@react-email/button";
import { Container } from "@react-email/container";
import { Head } from "@react-email/head";
import { Heading } from "@react-email/heading";
import { Html } from "@react-email/html";
import { Link } from "@react-email/link";
import { Preview } from "@react-email/preview";
import { Text } from "@react-email/text";
import { renderToStaticMarkup } from "react-dom/server";

/** What a mail says, in the order in which it is read. */
export type Letter = {
  subject: string;
  paragraphs: readonly [string, ...string[]];
  /** The one thing to do. */
  action?: { label: string; url: string };
  /** Beneath, in small: what to do when this was not asked for. */
  note?: string;
};

const ground = "#edf3f4";
const surface = "#fdfefe";
const ink = "#0e2730";
const soft = "#47616b";
const accent = "#0b5c6b";

/** Mail programs keep little of a style sheet; without it the colours of the elements stand, which are those of the day. */
const night = `@media (prefers-color-scheme: dark) {
  .ground { background-color: #08151a !important; }
  .surface { background-color: #10222a !important; }
  .ink { color: #e8f2f4 !important; }
  .soft { color: #a3bbc2 !important; }
  .action { background-color: #7fd3dc !important; color: #06242b !important; }
  .address { color: #7fd3dc !important; }
}`;
const fallback = "If the button does not work, open this address:";

function Page({ letter: { subject, paragraphs, action, note }, from }: { letter: Letter; from: string }) {
  const small = { margin: "0 0 12px", fontSize: "14px", lineHeight: "21px", color: soft };
  return (
    <Html lang="en">
      <Head>
        <title>{subject}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="supported-color-schemes" content="light dark" />
        <style>{night}</style>
      </Head>
      <Body
        className="ground"
        style={{
          margin: 0,
          padding: "24px 12px",
          backgroundColor: ground,
          fontFamily: "'Segoe UI', system-ui, -apple-system, Helvetica, Arial, sans-serif",
        }}
      >
        <Preview>{paragraphs[0]}</Preview>
        <Container
          className="surface"
          style={{ maxWidth: "520px", padding: "28px", borderRadius: "12px", backgroundColor: surface }}
        >
          <Heading
            as="h1"
            className="ink"
            style={{ margin: "0 0 16px", fontSize: "22px", lineHeight: "28px", color: ink }}
          >
            {subject}
          </Heading>
          {paragraphs.map((paragraph) => (
            <Text
              key={paragraph}
              className="ink"
              style={{ margin: "0 0 16px", fontSize: "16px", lineHeight: "24px", color: ink }}
            >
              {paragraph}
            </Text>
          ))}
          {action && (
            <>
              <Button
                className="action"
                href={action.url}
                style={{
                  margin: "4px 0 20px",
                  padding: "14px 22px",
                  borderRadius: "8px",
                  backgroundColor: accent,
                  color: "#ffffff",
                  fontSize: "16px",
                  fontWeight: 600,
                }}
              >
                {action.label}
              </Button>
              <Text className="soft" style={small}>
                {fallback}
                <br />
                <Link
                  className="address"
                  href={action.url}
                  style={{ color: accent, textDecorationLine: "underline", wordBreak: "break-all" }}
                >
                  {action.url}
                </Link>
              </Text>
            </>
          )}
          {note && (
            <Text className="soft" style={small}>
              {note}
            </Text>
          )}
          <Text className="soft" style={{ ...small, margin: 0 }}>
            Sent by {from}
          </Text>
        </Container>
      </Body>
    </Html>
  );
}

/** A letter as HTML and as plain text. `from` is the address of the server that sends it. */
export function renderLetter(letter: Letter, from: string): { html: string; text: string } {
  const { paragraphs, action, note } = letter;
  const parts = [...paragraphs, ...(action ? [`${action.label}:\n${action.url}`] : []), ...(note ? [note] : [])];
  return {
    html: `<!doctype html>${renderToStaticMarkup(<Page letter={letter} from={from} />)}`,
    text: `${parts.join("\n\n")}\n\n-- \nSent by ${from}\n`,
  };
}
