/** The map of the house as data. `architecture.test.ts` holds the code to it. */

/** Tables that all tenants share, because they are looked at before the tenant of a request is known. */
export const referenceTables = ['tenants', 'directory', 'access_versions', 'signing_keys'] as const
