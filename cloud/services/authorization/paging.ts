import { type PageMeta, pageLimits } from '@millwright/api/envelope.ts'
import type { Listed, Paging } from '../../platform/access/store.ts'

type PageQuery = { limit?: number; offset?: number }

export function pagingOf({ limit = pageLimits.default, offset = 0 }: PageQuery): Paging {
  return { limit, offset }
}

export function page<Row, Shown>({ rows, total }: Listed<Row>, { offset }: Paging, show: (row: Row) => Shown) {
  const meta: PageMeta = { totalElements: total, elements: rows.length, offset }
  return { data: rows.map(show), meta }
}
