import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../app/api/queries.ts'
import { Breadcrumbs } from './node/breadcrumbs.tsx'
import './hierarchy.css'

/** `AssetPaths` shows the paths to the nodes that an asset is assigned to, one line per hierarchy. */
export function AssetPaths({ assetId }: { assetId: string }) {
  const query = useOperationQuery()
  const { data } = useQuery(
    query(['hierarchy', 'listAssetPaths'], { params: { id: assetId } }, { live: ['hierarchy', 'inventory.relation'] }),
  )
  return data?.data.map(({ hierarchyId, hierarchyName, path }) => (
    <Breadcrumbs key={hierarchyId} hierarchy={{ id: hierarchyId, name: hierarchyName }} path={path} />
  ))
}
