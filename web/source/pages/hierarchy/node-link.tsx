import { Link } from '@tanstack/react-router'
import { isFailure } from '../../app/api/failure.ts'
import { useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { usePath } from './hierarchy-data.ts'
import { hierarchyMessages } from './messages.ts'

/**
 * `NodeLink` shows the path of a hierarchy node as a link to the node. For users who cannot read hierarchies, it shows
 * the label. `isPlain` shows the path without a link, for places in which a link is not possible.
 */
export function NodeLink({ id, label, isPlain }: { id: string; label: string; isPlain?: boolean }) {
  const text = useText(hierarchyMessages)
  const canRead = usePermission('glb_hierarchy_read')
  const path = usePath(canRead ? id : undefined)
  if (isFailure(path.error, 'not_found')) return <span className="quiet">{text.deletedNode}</span>
  if (path.data === undefined) return label
  const names = path.data.map(({ name }) => name).join(' › ')
  if (isPlain) return names
  return (
    <Link to="/hierarchy" search={{ node: id } as never}>
      {names}
    </Link>
  )
}
