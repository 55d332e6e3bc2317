import type { Permission } from '@millwright/api/permission.ts'
import type { ComponentType } from 'react'
import type { Title } from '../language/language.ts'

/** The groups of the navigation, in display order. */
export const navigationGroups = ['plant', 'work', 'administration', 'own'] as const
export type NavigationGroup = (typeof navigationGroups)[number]

/** `AreaRoute` is one page of an area. Its code is loaded when the page opens for the first time. */
export type AreaRoute = {
  /** The path relative to the area, with parameters as `$id`. The main page of the area has an empty path. */
  path: string
  /** Loads the module and returns its page component. */
  load: () => Promise<ComponentType>
}

/** `AreaCommand` is a view or an action of an area that the command palette offers. */
export type AreaCommand = {
  title: Title
  /** The search parameters of the main page that open the view or dialog. */
  search: Readonly<Record<string, string>>
  /** The permission that a user needs to see the command. By default, all users of the area see it. */
  permission?: Permission
}

/**
 * `Area` is a part of the console with its own pages. To add an area, write `pages/<id>/area.ts` with an `area` and
 * list it in `app/navigation/areas.ts`. Navigation, routes, command palette and permission checks derive from the area.
 */
export type Area = {
  id: string
  title: Title
  /** The description in the command palette. */
  description: Title
  /** The icon, imported from `@siemens/ix-icons/icons`. */
  icon: string
  /** The path relative to `/console`, with a leading slash and without a trailing slash. */
  path: string
  group: NavigationGroup
  /** The permissions of the area. A user needs one of them to open the area. An empty list allows all users. */
  permissions: readonly Permission[]
  routes: readonly AreaRoute[]
  /** The additional commands of the area. */
  commands?: readonly AreaCommand[]
}
