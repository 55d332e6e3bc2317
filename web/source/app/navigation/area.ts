import type { Permission } from '@millwright/api/permission.ts'
import type { ComponentType } from 'react'
import type { Title } from '../language/language.ts'

/** The groups of the navigation, in display order. */
export const navigationGroups = ['plant', 'work', 'administration', 'own'] as const
export type NavigationGroup = (typeof navigationGroups)[number]

/** One page of an area. Its code is loaded when the page opens for the first time. */
export type AreaRoute = {
  /** Path relative to the area, with parameters as `$id`. The main page of the area has an empty path. */
  path: string
  /** Loads the module and returns its page component. */
  load: () => Promise<ComponentType>
}

/** A view or an action of an area that the command palette offers. */
export type AreaCommand = {
  title: Title
  /** Search parameters of the main page that open the view or dialog. */
  search: Readonly<Record<string, string>>
  /** Only users with this permission see the command. Default: all users of the area. */
  permission?: Permission
}

/**
 * `Area` is a part of the console with its own pages. To add one, write `pages/<id>/area.ts` with an `area` and list it
 * in `app/navigation/areas.ts`. Navigation, routes, command palette and permission checks derive from it.
 */
export type Area = {
  id: string
  title: Title
  /** Shown in the command palette. */
  description: Title
  /** An icon from `@siemens/ix-icons/icons`. */
  icon: string
  /** Path relative to `/console`, with a leading slash and without a trailing one. */
  path: string
  group: NavigationGroup
  /** A user needs one of these permissions to open the area. An empty list allows all users. */
  permissions: readonly Permission[]
  routes: readonly AreaRoute[]
  /** Additional commands of the area. */
  commands?: readonly AreaCommand[]
}
