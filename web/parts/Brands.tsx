import type { ReactNode } from "react";

const frame = (ground: string, mark: ReactNode) => (
  <svg viewBox="0 0 36 24" width="30" height="20" aria-hidden="true">
    <rect width="36" height="24" rx="4" fill={ground} />
    {mark}
  </svg>
);
const letters = (text: string, fill: string, size: number, style = "normal") => (
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
  Visa: frame("#1a1f71", letters("VISA", "#fff", 11, "italic")),
  Mastercard: frame(
    "#16181c",
    <>
      <circle cx="14.5" cy="12" r="7" fill="#eb001b" />
      <circle cx="21.5" cy="12" r="7" fill="#f79e1b" />
      <path d="M18 5.94a7 7 0 0 1 0 12.12 7 7 0 0 1 0-12.12z" fill="#ff5f00" />
    </>,
  ),
  Amex: frame("#016fd0", letters("AMEX", "#fff", 10)),
  Discover: frame("#f4f1ec", letters("DISC", "#c8500a", 10)),
  Diners: frame("#0a5a8c", letters("DINERS", "#fff", 7.5)),
  JCB: frame("#0b4ea2", letters("JCB", "#fff", 11)),
  UnionPay: frame("#c8102e", letters("UnionPay", "#fff", 6.5)),
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
