import type { Asset } from '../model/asset.ts'

export const pageSize = 100
/** The maximum number of pages in memory. All other pages are loaded again when the user scrolls to them. */
const maxPages = 60
/** The delay before a page is loaded, so that not every page that the scroll bar passes is loaded. */
const debounceMs = 90

export type AssetPage = { rows: Asset[]; total: number | undefined; nextCursor: string | undefined }

/**
 * `PageRequest` is the request for one page. The offset is relative to the cursor, or to the start of the list if there
 * is no cursor.
 */
export type PageRequest = { cursor: string | undefined; offset: number; count: boolean; signal: AbortSignal }
export type LoadPage = (question: PageRequest) => Promise<AssetPage>

/**
 * `AssetPages` loads a long list page by page while the user scrolls. It requests pages by cursor, because the cost of
 * such a request does not depend on the position in the list. If the user jumps to a distant page, the nearest known
 * cursor and an offset are used. Requests for pages that are no longer visible are aborted.
 */
export class AssetPages {
  readonly #loadPage: LoadPage
  readonly #onChange: () => void
  readonly #pages = new Map<number, Asset[]>()
  /** The known cursors by page number. Each cursor identifies the row before the page. */
  readonly #cursors = new Map<number, string>()
  readonly #loading = new Map<number, AbortController>()
  #stale = new Set<number>()
  #visiblePages: { first: number; last: number } = { first: 0, last: 0 }
  #timer: ReturnType<typeof setTimeout> | undefined
  total: number | undefined
  failure: unknown

  constructor(loadPage: LoadPage, onChange: () => void) {
    this.#loadPage = loadPage
    this.#onChange = onChange
    this.#load(0)
  }

  rowAt(index: number): Asset | undefined {
    return this.#pages.get(Math.floor(index / pageSize))?.[index % pageSize]
  }

  /** Yields the loaded rows from one index to another, in order, for the selection of a range. */
  *loaded(from: number, to: number): Generator<Asset> {
    for (let index = Math.min(from, to); index <= Math.max(from, to); index++) {
      const row = this.rowAt(index)
      if (row !== undefined) yield row
    }
  }

  setVisibleRange(first: number, last: number): void {
    this.#visiblePages = { first: Math.floor(first / pageSize), last: Math.floor(last / pageSize) }
    if (this.#timer !== undefined) return
    const isNear = this.#pages.has(this.#visiblePages.first - 1) || this.#pages.has(this.#visiblePages.first)
    this.#timer = setTimeout(() => this.#loadVisible(), isNear ? 0 : debounceMs)
  }

  /** Reloads the visible pages. The old rows stay visible until the new rows are loaded. */
  refresh(): void {
    this.#stale = new Set(this.#pages.keys())
    this.#cursors.clear()
    for (let page = this.#visiblePages.first; page <= this.#visiblePages.last; page++) this.#load(page)
  }

  /**
   * Removes rows at once, before the server has removed them. The rows after them move up. The next refresh loads the rows
   * as the server has them.
   */
  remove(ids: ReadonlySet<string>): void {
    const rows: Asset[] = []
    let pages = 0
    for (let page = this.#pages.get(0); page !== undefined; page = this.#pages.get(++pages)) rows.push(...page)
    const left = rows.filter(({ id }) => !ids.has(id))
    if (left.length === rows.length) return
    this.#pages.clear()
    this.#cursors.clear()
    // The last page may miss rows now, so it is loaded again when it is visible.
    for (let page = 0; page * pageSize < left.length; page++)
      this.#pages.set(page, left.slice(page * pageSize, (page + 1) * pageSize))
    this.#stale = new Set(this.#pages.keys())
    if (this.total !== undefined) this.total -= rows.length - left.length
    this.#onChange()
  }

  retry(): void {
    this.failure = undefined
    this.#onChange()
    this.refresh()
  }

  stop(): void {
    clearTimeout(this.#timer)
    for (const controller of this.#loading.values()) controller.abort()
  }

  #loadVisible(): void {
    this.#timer = undefined
    const { first, last } = this.#visiblePages
    for (const [page, controller] of this.#loading) {
      if (page < first - 1 || page > last + 1) controller.abort()
    }
    for (let page = first; page <= last + 1; page++) {
      const isBeyond = this.total !== undefined && page * pageSize >= this.total
      if (!isBeyond && (!this.#pages.has(page) || this.#stale.has(page))) this.#load(page)
    }
  }

  async #load(page: number): Promise<void> {
    if (this.#loading.has(page)) return
    const controller = new AbortController()
    this.#loading.set(page, controller)
    const from = this.#nearestCursor(page)
    try {
      const { rows, total, nextCursor } = await this.#loadPage({
        cursor: from?.cursor,
        offset: (page - (from?.page ?? 0)) * pageSize,
        count: page === 0 || this.total === undefined || this.#stale.has(page),
        signal: controller.signal,
      })
      this.#store(page, rows, nextCursor)
      if (total !== undefined && from === undefined) this.total = total
    } catch (error) {
      if (!controller.signal.aborted) this.failure = error
    } finally {
      this.#loading.delete(page)
      if (!controller.signal.aborted) this.#onChange()
    }
  }

  #store(page: number, rows: Asset[], nextCursor: string | undefined): void {
    this.failure = undefined
    this.#stale.delete(page)
    this.#pages.delete(page)
    this.#pages.set(page, rows)
    if (nextCursor !== undefined) this.#cursors.set(page + 1, nextCursor)
    const { first, last } = this.#visiblePages
    const farthest = [...this.#pages.keys()].filter((each) => each < first - 2 || each > last + 2)
    for (const each of farthest.slice(0, Math.max(0, this.#pages.size - maxPages))) this.#pages.delete(each)
  }

  /**
   * Returns the nearest known cursor at or before a page. A cursor stays valid when rows are added or deleted, because
   * it identifies a row and not an index.
   */
  #nearestCursor(page: number): { page: number; cursor: string } | undefined {
    for (let each = page; each > Math.max(0, page - 20); each--) {
      const cursor = this.#cursors.get(each)
      if (cursor !== undefined) return { page: each, cursor }
    }
    return undefined
  }
}
