import { Fragment, type ReactNode } from "react";
import { type Inline, parseMarkdown } from "../../shared/markdown.ts";

// What is drawn from one text never changes its order, so that the place of a part is its name.
const renderInlines = (all: Inline[]): ReactNode =>
  all.map((one, index) => {
    const key = `${index}`;
    if (typeof one === "string") return <Fragment key={key}>{one}</Fragment>;
    if (one.kind === "code") return <code key={key}>{one.text}</code>;
    if (one.kind === "link")
      return (
        <a key={key} href={one.href} target="_blank" rel="noreferrer nofollow">
          {renderInlines(one.text)}
        </a>
      );
    const Strength = one.kind;
    return <Strength key={key}>{renderInlines(one.text)}</Strength>;
  });

/** What a seller wrote in Markdown. Its headings are none of the page's own. */
export function Markdown({ text }: { text: string }) {
  return parseMarkdown(text).map((block, index) => {
    const key = `${index}`;
    if (block.kind === "list") {
      const List = block.ordered ? "ol" : "ul";
      return (
        <List key={key}>
          {block.items.map((item, at) => {
            const place = `${at}`;
            return <li key={place}>{renderInlines(item)}</li>;
          })}
        </List>
      );
    }
    return (
      <p key={key} className={block.kind === "heading" ? "heading" : undefined}>
        {block.lines.map((line, at) => {
          const place = `${at}`;
          return (
            <Fragment key={place}>
              {at > 0 && <br />}
              {renderInlines(line)}
            </Fragment>
          );
        })}
      </p>
    );
  });
}
