export type Paging = { limit: number; offset: number }

/** The rows of a page, and how many there are in all. */
export type Listed<Row> = { rows: Row[]; total: number }
