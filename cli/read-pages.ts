type Page<T> = { items: T[]; pagination: { max_page: number } };

/** Read every page of a list. */
export async function readPages<T>(read: (page: { page: number; limit: number }) => Promise<Page<T>>): Promise<T[]> {
  const rows: T[] = [];
  for (let page = 1; ; page += 1) {
    const { items, pagination } = await read({ page, limit: 100 });
    rows.push(...items);
    if (page >= pagination.max_page) return rows;
  }
}
