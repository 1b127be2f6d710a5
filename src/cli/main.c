#include <antler/antler.h>

#include <stdio.h>

int main(void)
{
    printf("%s\n", antler_build_info());
    return 0;
}
