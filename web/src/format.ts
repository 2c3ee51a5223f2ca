// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers as people read them, by the rules of the text table (src/report/layout.cpp), so that both
// say the same.

// `value` to so many digits, as "d.ddde+x". A tie goes to the even digit, as in C: toExponential
// would take the larger one.
function rounded(value: number, digits: number): string {
  const [exact = "", power = ""] = value.toExponential(60).split("e");
  const point = exact.indexOf(".");
  const cut = digits === 1 ? point : point + digits;
  const kept = exact.slice(0, cut);
  const even = "02468".includes(kept[kept.length - 1] ?? "");
  if (even && /^\.?50*$/.test(exact.slice(cut))) return `${kept}e${power}`;
  return value.toExponential(digits - 1);
}

// As printf's %.4g.
function four(value: number): string {
  if (value === 0) return "0";
  const [digits = "", power = ""] = rounded(value, 4).split("e");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 4) {
    const size = Math.abs(exponent).toString().padStart(2, "0");
    const short = digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
    return `${short}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  const text = Number(`${digits}e${power}`).toFixed(3 - exponent);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

// As printf's %.0f, of a value from 1,000 to 10 million.
function whole(value: number): string {
  return Number(rounded(value, Math.floor(Math.log10(Math.abs(value))) + 1)).toFixed(0);
}

export function number(value: number | null | undefined): string {
  if (value === null || value === undefined) return "unknown";
  const size = Math.abs(value);
  if (size < 1e7 && value === Math.floor(value)) return (value + 0).toFixed(0);
  if (size >= 1e7) return four(value);
  if (size >= 1000) return whole(value);
  return four(value);
}

export function signed(value: number): string {
  return value > 0 ? `+${number(value)}` : number(value);
}

function plus(text: string, value: number): string {
  return value > 0 ? `+${text}` : text;
}

export function percent(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size < 0.005) return "0%";
  if (size < 1) return `${plus(value.toFixed(2), value)}%`;
  if (size < 100) return `${plus(value.toFixed(1), value)}%`;
  if (size < 1e5) return `${plus(value.toFixed(0), value)}%`;
  return `${plus(value.toExponential(1), value)}%`;
}

export function probability(p: number | null | undefined): string {
  if (p === null || p === undefined) return "–";
  if (p < 0.0001) return "<.0001";
  if (p > 0.995) return "1";
  return p < 0.1 ? String(Number(p.toPrecision(2))) : p.toFixed(2);
}

export function withUnit(name: string, unit: string | null): string {
  return unit === null || unit === "" ? name : `${name} (${unit})`;
}
