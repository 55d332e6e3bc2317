export type Paging = { limit: number; offset: number }

/** The rows of a page and the total number. */
export type Listed<Row> = { rows: Row[]; total: number }
