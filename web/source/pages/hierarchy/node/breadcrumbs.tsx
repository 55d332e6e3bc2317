import type { PathNode } from '@millwright/api/hierarchy.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { hierarchyMessages } from '../messages.ts'

type BreadcrumbsProps = {
  hierarchy: { id: string; name: string }
  path: readonly PathNode[]
  /** Whether the last node of the path is the current page. */
  isCurrent?: boolean
}

/** `Breadcrumbs` shows the path from a hierarchy to a node. Each part except the current page is a link. */
export function Breadcrumbs({ hierarchy, path, isCurrent }: BreadcrumbsProps) {
  const text = useText(hierarchyMessages)
  return (
    <nav className="breadcrumbs" aria-label={text.pathIn(hierarchy.name)}>
      <ol>
        <li>
          <ParentLink to="/hierarchy" search={{ hierarchy: hierarchy.id }}>
            {hierarchy.name}
          </ParentLink>
        </li>
        {path.map(({ id, name }, index) => (
          <li key={id}>
            {isCurrent && index === path.length - 1 ? (
              <span aria-current="page">{name}</span>
            ) : (
              <ParentLink to="/hierarchy" search={{ hierarchy: hierarchy.id, node: id }}>
                {name}
              </ParentLink>
            )}
          </li>
        ))}
      </ol>
    </nav>
  )
}
