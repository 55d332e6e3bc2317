/**
 * Where sealed values are: whoever keeps some says so, and rotation finds them. `of` is who sealed them: a tenant's data
 * key (`context.safe`), or the platform's own (`context.secrets`) in a table that all tenants share.
 */
export type SealedColumn = {
  readonly of: 'tenant' | 'platform'
  readonly table: string
  readonly column: string
  /** The primary key, without the tenant. */
  readonly key: readonly string[]
  /** Other columns that the value is bound to, which never change. */
  readonly boundTo?: readonly string[]
  /** What the value of a row was bound to when it was sealed; the columns are given as text. */
  readonly belongsTo: (row: Readonly<Record<string, string>>) => string
}
