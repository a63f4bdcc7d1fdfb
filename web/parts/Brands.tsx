import type { ReactNode } from "react";

const renderFrame = (ground: string, mark: ReactNode) => (
  <svg viewBox="0 0 36 24" width="30" height="20" aria-hidden="true">
    <rect width="36" height="24" rx="4" fill={ground} />
    {mark}
  </svg>
);
const renderLetters = (text: string, fill: string, size: number, style = "normal") => (
  <text
    x="18"
    y={12 + size * 0.36}
    textAnchor="middle"
    fill={fill}
    {...{ fontSize: size, fontWeight: 700, fontStyle: style, fontFamily: "Arial, Helvetica, sans-serif" }}
  >
    {text}
  </text>
);

/** Marks that tell the brands of cards apart at a glance. */
const marks: Readonly<Record<string, ReactNode>> = {
  Visa: renderFrame("#1a1f71", renderLetters("VISA", "#fff", 11, "italic")),
  Mastercard: renderFrame(
    "#16181c",
    <>
      <circle cx="14.5" cy="12" r="7" fill="#eb001b" />
      <circle cx="21.5" cy="12" r="7" fill="#f79e1b" />
      <path d="M18 5.94a7 7 0 0 1 0 12.12 7 7 0 0 1 0-12.12z" fill="#ff5f00" />
    </>,
  ),
  Amex: renderFrame("#016fd0", renderLetters("AMEX", "#fff", 10)),
  Discover: renderFrame("#f4f1ec", renderLetters("DISC", "#c8500a", 10)),
  Diners: renderFrame("#0a5a8c", renderLetters("DINERS", "#fff", 7.5)),
  JCB: renderFrame("#0b4ea2", renderLetters("JCB", "#fff", 11)),
  UnionPay: renderFrame("#c8102e", renderLetters("UnionPay", "#fff", 6.5)),
};
const usual = ["Visa", "Mastercard", "Amex"] as const;

/** The brand of a card that is being typed; the usual ones, while it is not known. */
export function Brands({ name }: { name: string }) {
  const mark = marks[name];
  if (mark)
    return (
      <span className="brands" role="img" aria-label={name}>
        {mark}
      </span>
    );
  return (
    <span className="brands unknown" aria-hidden="true">
      {usual.map((one) => (
        <span key={one}>{marks[one]}</span>
      ))}
    </span>
  );
}
