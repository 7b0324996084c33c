/* SPDX-License-Identifier: MIT
 *
 * What Python's headers have to know of Windows with 64 bits, for an extension on the stable ABI that is compiled
 * elsewhere: the one that Python brings there is for Microsoft's compiler. */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H

#define MS_WINDOWS                 1
#define MS_WIN64                   1
#define WITH_THREAD                1
#define HAVE_DECLSPEC_DLL          1
#define Py_NO_ENABLE_SHARED_PRAGMA 1

#define SIZEOF_SHORT     2
#define SIZEOF_INT       4
#define SIZEOF_LONG      4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_VOID_P    8
#define SIZEOF_SIZE_T    8
#define SIZEOF_WCHAR_T   2

#define HAVE_WCHAR_H 1

#endif
