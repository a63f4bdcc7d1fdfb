/** The customers of a demo shop: names and addresses. */
import type { Chance } from "./chance.ts";

type Address = { country: string; line1: string; postal_code: string; city: string; state?: string };
export type Person = { name: string; email: string; address: Address };
type Names = { address: Address; given: readonly [string, ...string[]]; family: readonly [string, ...string[]] };

const names: readonly [Names, ...Names[]] = [
  {
    address: { country: "DE", line1: "Torstraße 12", postal_code: "10119", city: "Berlin" },
    given: ["Lena", "Jonas", "Miriam", "Tobias"],
    family: ["Schäfer", "Vogt", "Brandt", "Köhler"],
  },
  {
    address: { country: "FR", line1: "8 rue des Lilas", postal_code: "69003", city: "Lyon" },
    given: ["Chloé", "Hugo", "Inès", "Théo"],
    family: ["Moreau", "Lefèvre", "Garnier", "Roche"],
  },
  {
    address: { country: "GB", line1: "4 Mill Lane", postal_code: "CB2 1RX", city: "Cambridge" },
    given: ["Amelia", "Oliver", "Priya", "Callum"],
    family: ["Hughes", "Patel", "Fraser", "Walsh"],
  },
  {
    address: { country: "US", line1: "220 Oak Street", postal_code: "97205", city: "Portland", state: "OR" },
    given: ["Grace", "Marcus", "Elena", "Tyler"],
    family: ["Nguyen", "Brooks", "Ramirez", "Carter"],
  },
  {
    address: { country: "BR", line1: "Rua Augusta 300", postal_code: "01304-000", city: "São Paulo", state: "SP" },
    given: ["Beatriz", "João", "Larissa", "Mateus"],
    family: ["Souza", "Gonçalves", "Araújo", "Lima"],
  },
  {
    address: { country: "JP", line1: "中央1-2-3", postal_code: "104-0061", city: "東京", state: "13" },
    given: ["さくら", "健太", "美咲", "大輔"],
    family: ["髙橋", "佐藤", "渡辺", "小林"],
  },
  {
    address: { country: "PL", line1: "ul. Długa 7", postal_code: "31-147", city: "Kraków" },
    given: ["Zofia", "Paweł", "Łucja", "Michał"],
    family: ["Wójcik", "Kowalska", "Żuk", "Dąbrowski"],
  },
  {
    address: { country: "SE", line1: "Storgatan 5", postal_code: "411 24", city: "Göteborg" },
    given: ["Astrid", "Nils", "Freja", "Oskar"],
    family: ["Lindström", "Åkesson", "Björk", "Holm"],
  },
  {
    address: { country: "IN", line1: "14 MG Road", postal_code: "560001", city: "Bengaluru", state: "KA" },
    given: ["Ananya", "Rohan", "Meera", "Arjun"],
    family: ["Sharma", "Iyer", "Reddy", "Kapoor"],
  },
  {
    address: { country: "ES", line1: "Calle Mayor 9", postal_code: "46001", city: "Valencia" },
    given: ["Lucía", "Álvaro", "Nerea", "Iker"],
    family: ["Muñoz", "Ibáñez", "Castro", "Peña"],
  },
  {
    address: { country: "TR", line1: "İstiklal Cad. 21", postal_code: "34430", city: "İstanbul" },
    given: ["Elif", "Emre", "Zeynep", "Işık"],
    family: ["Yılmaz", "Öztürk", "Şahin", "Demir"],
  },
  {
    address: { country: "NG", line1: "3 Broad Street", postal_code: "101221", city: "Lagos" },
    given: ["Adaeze", "Tunde", "Ṣadé", "Chidi"],
    family: ["Okafor", "Adébáyọ̀", "Balogun", "Eze"],
  },
];

/** Pick a person. The number makes the address unique; example.com belongs to nobody. */
export function pickPerson(chance: Chance, number: number): Person {
  const { address, given, family } = chance.pick(names);
  const [first, last] = [chance.pick(given), chance.pick(family)];
  const local = `${first}.${last}`
    .normalize("NFKD")
    .replace(/[^A-Za-z.]/g, "")
    .toLowerCase()
    .replace(/^\.|\.$/g, "");
  const name = address.country === "JP" ? `${last} ${first}` : `${first} ${last}`;
  return { name, email: `${local || "customer"}.${number}@example.com`, address };
}
