export type Paging = { limit: number; offset: number }

/** The rows of one page, and the total number of rows. */
export type Listed<Row> = { rows: Row[]; total: number }
