import type { ListedCredentialSchema } from '@millwright/api/credentials-shapes.ts'
import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { linkTitle } from '../../discovery/built-in-links.ts'
import { type GatewayLink, nameOf, useReadyLinks } from '../../discovery/gateways/gateway-links.ts'

/**
 * `CredentialType` is a product of asset links for which credentials can be added. Without `schemaId`, its schema is imported
 * from a link first.
 */
export type CredentialType = {
  product: string
  name: string
  schemaId: string | undefined
  links: readonly GatewayLink[]
}

/** The maximum number of schemas that are offered. The newest ones are offered. */
const maxSchemas = 100

/** Loads the credential types, running asset links first. */
export function useCredentialTypes() {
  const query = useOperationQuery()
  const canImport = usePermission('write_template')
  const schemas = useQuery(query(['credentials', 'listSchemas'], { query: { limit: maxSchemas } }))
  const { links, isLoading } = useReadyLinks()
  const offered = links.filter(({ link }) => link.deviceClass !== undefined && (link.credentialSchemas ?? 0) > 0)
  const types = typesOf(schemas.data?.data ?? [], offered)
  return {
    types: canImport ? types : types.filter(({ schemaId }) => schemaId !== undefined),
    isLoading: schemas.isPending || isLoading,
  }
}

function typesOf(schemas: readonly ListedCredentialSchema[], links: readonly GatewayLink[]): CredentialType[] {
  const products = new Set([
    ...links.flatMap(({ link }) => link.deviceClass ?? []),
    ...schemas.map(({ resourceIdentifier }) => resourceIdentifier),
  ])
  return [...products].map((product) => {
    const own = links.filter(({ link }) => link.deviceClass === product)
    const ofProduct = schemas.filter(({ resourceIdentifier }) => resourceIdentifier === product)
    const sameVersion = ofProduct.find(({ resourceVersion }) =>
      own.some(({ link }) => link.version === resourceVersion),
    )
    const [first] = own
    return {
      product,
      name: first === undefined ? linkTitle(product) : nameOf(first.link),
      schemaId: (sameVersion ?? ofProduct[0])?.id,
      links: own,
    }
  })
}
