import { Link } from '@tanstack/react-router'
import { usePermission } from '../../app/session/app-context.tsx'
import { usePath } from './hierarchy-data.ts'

/**
 * `NodeLink` shows the path of a hierarchy node as a link to the node. For a node that does not exist, and for users who
 * cannot read hierarchies, it shows the label.
 */
export function NodeLink({ id, label }: { id: string; label: string }) {
  const canRead = usePermission('glb_hierarchy_read')
  const path = usePath(canRead ? id : undefined)
  if (path.data === undefined) return label
  return (
    <Link to="/hierarchy" search={{ node: id } as never}>
      {path.data.map(({ name }) => name).join(' › ')}
    </Link>
  )
}
