import type { Permission } from '@millwright/api/permission.ts'
import type { ComponentType } from 'react'
import type { Title } from '../language/language.ts'

/** Where an area stands in the navigation. */
export const navigationGroups = ['plant', 'work', 'administration', 'own'] as const
export type NavigationGroup = (typeof navigationGroups)[number]

/** One page of an area, loaded when it is opened first. */
export type AreaRoute = {
  /** Below the path of the area; parameters as `$id`. Empty: the area's own page. */
  path: string
  /** The module's export that is the page. */
  load: () => Promise<ComponentType>
}

/** A view or an action of an area, to be found by its name. */
export type AreaCommand = {
  title: Title
  /** What the area's own page shows or opens with this in its address. */
  search: Readonly<Record<string, string>>
  /** Offered to who holds it; to everybody in the area unless given. */
  permission?: Permission
}

/**
 * A part of the console: pages about one thing. To add one, write `pages/<id>/area.ts` with an `area` and list it in
 * `app/navigation/areas.ts`; navigation, routes, command palette and the explanation of a missing permission derive from it.
 */
export type Area = {
  id: string
  title: Title
  /** What one does there, for the command palette and who may not open it. */
  description: Title
  /** An icon of `@siemens/ix-icons/icons`. */
  icon: string
  /** Below `/console`, with a leading slash; no trailing one. */
  path: string
  group: NavigationGroup
  /** One of these is enough to be offered the area; empty for everybody. */
  permissions: readonly Permission[]
  routes: readonly AreaRoute[]
  /** What the command palette finds besides the area itself. */
  commands?: readonly AreaCommand[]
}
