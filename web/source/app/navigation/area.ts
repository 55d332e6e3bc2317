import type { Permission } from '@millwright/api/permission.ts'
import type { ComponentType } from 'react'
import type { Title } from '../language/language.ts'

/** The groups of the navigation, in display order. */
export const navigationGroups = ['overview', 'plant', 'operation', 'connection', 'administration'] as const
/** The group of an area. Areas of the group `own` belong to the user, and are in the account menu. */
export type NavigationGroup = (typeof navigationGroups)[number] | 'own'

/** `AreaRoute` is one page of an area. The code of the page is loaded when the page opens for the first time. */
export type AreaRoute = {
  /** The path relative to the area, with parameters as `$id`. The main page of the area has an empty path. */
  path: string
  /** Loads the module and returns its page component. */
  load: () => Promise<ComponentType>
  /** The permission that a user needs for this page, if one of the permissions of the area is not enough. */
  permission?: Permission
}

/** `AreaCommand` is a view or an action of an area that the command palette offers. */
export type AreaCommand = {
  title: Title
  /** The search parameters with which the main page of the area opens the view or dialog. */
  search: Readonly<Record<string, string>>
  /**
   * The permission that a user needs to see the command. Without it, all users who can open the area see the command.
   */
  permission?: Permission
}

/** `FormerPath` is an old path, and the search parameters of the new page for those of the old page. */
export type FormerPath = {
  path: string
  searchOf?: (search: Readonly<Record<string, unknown>>) => Record<string, string>
}

/**
 * `Area` is a part of the console with its own pages. To add an area, write `pages/<id>/area.ts` with an `area`, and
 * list that area in `app/navigation/areas.ts`. The navigation, the routes, the command palette and the permission
 * checks use this list.
 */
export type Area = {
  id: string
  title: Title
  /** The description of the area in the command palette. */
  description: Title
  /** The icon, imported from `@siemens/ix-icons/icons`. */
  icon: string
  /** The path relative to `/console`, with a leading slash and without a trailing slash. */
  path: string
  /** Paths of pages that this area replaces. They redirect to its main page. */
  formerPaths?: readonly FormerPath[]
  group: NavigationGroup
  /**
   * The permissions for the area. A user needs at least one of them to open the area. An empty list allows all users.
   */
  permissions: readonly Permission[]
  routes: readonly AreaRoute[]
  /** The commands that the command palette offers in addition to the area itself. */
  commands?: readonly AreaCommand[]
}
